// Package assert is the resource type "assert": conditions that must hold at its place in the manifest.
package assert
