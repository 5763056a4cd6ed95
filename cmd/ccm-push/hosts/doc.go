// Package hosts has the commands about hosts and the inventory.
//
//	clean.go              clean
//	commands.go           the list of commands
//	explainconnection.go  explain-connection
//	facts.go              facts
//	footprint.go          footprint
//	inventory.go          inventory
//	status.go             status
//	sudoers.go            sudoers
//	trust.go              trust
package hosts
