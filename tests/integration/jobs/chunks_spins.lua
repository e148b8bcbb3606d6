-- A module for chunks_test.cpp: it never comes back.
return { spin = function() while true do end end }
