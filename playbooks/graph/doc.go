// Package graph orders the resources of one host by what they depend on: by what
// the manifest says, and by what the resources themselves tell of the accounts,
// paths and packages that they have to do with ([modules.Related]).
package graph
