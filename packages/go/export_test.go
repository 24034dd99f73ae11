package pumphouse

// TypesAgain is how long a worker leases without types after a refusal.
var TypesAgain = &typesAgain
