-- A module for chunks_test.cpp: it never returns.
return { spin = function() while true do end end }
