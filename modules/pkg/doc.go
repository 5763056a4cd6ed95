// Package pkg has the resource type package: what a host's package manager has
// installed.
package pkg
