// Package app contains the parts of the program that all commands use: streams, environment, signals, prompts, and records
// of runs.
//
//	app.go      streams, environment, signals, messages to the operator
//	records.go  recorded runs, and their names for people
//	step.go     prompts on the terminal
package app
