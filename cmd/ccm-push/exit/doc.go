// Package exit has the exit statuses of the program, and the errors that carry them.
package exit
