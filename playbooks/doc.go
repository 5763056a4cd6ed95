// Package playbooks runs plays over a fleet: it connects to hosts, compiles and
// sends each one its catalog, and turns what comes back into events.
package playbooks
