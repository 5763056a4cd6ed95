// Package property is the properties of a resource as a manifest writes them: what they
// are called, at which place each stands, and what is wrong with them whatever those
// come to that are still open.
package property
