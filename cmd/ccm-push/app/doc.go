// Package app has what all commands share: the streams, the environment and the signals of the program, its prompts, and
// its records of runs.
//
//	app.go      streams, environment, signals, messages to the operator
//	records.go  recorded runs, and their names for people
//	step.go     prompts on the terminal
package app
