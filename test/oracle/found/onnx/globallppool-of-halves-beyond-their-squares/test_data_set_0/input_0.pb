		
Binput0J¢@HÈ t√ NF—ÃFS…~NR»<…[“˚DR—=K°—ÉN0M≠—	Ã≥PﬁIÊRZQFFÀ•PìP≤KÍLLSìLJ/L” ¶L˝—ê∑ˇMdF¢88PÎEÙL*FÏLô¡M‡¬ÎÕÀ“X”\Ã—À€LÌQé“àE!—∏«˜œ6¥0ΩAO%Ã¯J‚Ã¢AêÕ––Tœ»Ñ∆PURÅR€QÅL‹≤]N