// Package fcontext is the resource type "fcontext": the labels that SELinux assigns to files by their paths.
package fcontext
