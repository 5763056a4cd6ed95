// Package fcontext is the resource type "fcontext": the labels that SELinux gives files by their paths.
package fcontext
