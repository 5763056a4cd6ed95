// Package upgrade is the resource type "upgrade": the packages of a host brought up to date, all or those with
// security updates.
//
//	upgrade.go  the properties
//	check.go    what the package manager would do, and what is told of it
package upgrade
