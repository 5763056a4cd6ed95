// Package fetch is the resource type "fetch": a file of the host that the controller gets.
package fetch
