// Package pumphouse is the client and worker runtime of Pumphouse, a job queue server over HTTP. It has no dependencies.
package pumphouse

// Version is the version of this package.
const Version = "0.2.0"
