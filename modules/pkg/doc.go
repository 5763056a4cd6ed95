// Package pkg has the resource type package: the packages that a host's package manager has installed.
package pkg
