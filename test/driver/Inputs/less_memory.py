"""What weir-run --memory says of device 1 is less in the first file than in the second."""
import re
import sys

late, early = (int(re.search(r"device=1 peak_bytes=(\d+)", open(path).read())[1])
               for path in sys.argv[1:])
assert late + (200 << 10) < early, (late, early)
