// Package output prints the results of commands in the format that flags choose.
//
//	output.go      standard output and standard error
//	printer.go     text, JSON, and reporters of events
//	progress.go    the progress of hosts
//	sourceline.go  the source line of an error
package output
