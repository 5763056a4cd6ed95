// Package health has the health checks that a resource of any type may be given:
// questions to the host that are asked after the resource has had its turn.
package health
