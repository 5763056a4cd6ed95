// Package reach says how a host of the inventory is reached, as whom, and why so: by the
// command line, the inventory, ssh_config and the defaults. The first of these that says
// something counts.
//
// It makes a [transport.Target] and dials nothing. Plays, catalogs and sessions stay out.
package reach
