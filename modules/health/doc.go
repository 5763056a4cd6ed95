// Package health has the health checks that a resource of any type may have: queries to the host that run after the
// resource has been checked and applied.
package health
