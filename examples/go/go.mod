module example.com/images

go 1.19

require github.com/pumphouse/pumphouse/packages/go v0.2.0

// In a program of your own: without this line.
replace github.com/pumphouse/pumphouse/packages/go => ../../packages/go
