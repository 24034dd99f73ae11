module github.com/pumphouse/pumphouse/packages/go

go 1.19
