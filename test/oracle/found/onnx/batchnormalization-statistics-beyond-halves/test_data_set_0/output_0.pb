
Boutput0JÊH§ÄaaàI