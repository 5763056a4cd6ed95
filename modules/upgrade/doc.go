// Package upgrade is the resource type "upgrade": it updates all packages of a host, or only the packages with
// security updates.
//
//	upgrade.go  the properties
//	related.go  related resources and examples, for the controller
//	check.go    the updates that the package manager would install, and their installation
package upgrade
