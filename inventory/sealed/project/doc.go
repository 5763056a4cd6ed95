// Package project is about the files of one project that are encrypted with age: all below the
// folder with .ccm-secrets.yaml. They are read and written here, and given to other people all
// at once, or not at all.
package project
