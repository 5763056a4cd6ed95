// Package arguments checks and completes the arguments of commands.
//
//	completion.go  words that complete an argument or a flag
//	count.go       the number of arguments, and suggestions for wrong words
package arguments
