// Package assert is the resource type "assert": conditions that have to hold where it stands.
package assert
