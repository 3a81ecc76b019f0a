
Boutput0J3BÍÁ3DšÃ