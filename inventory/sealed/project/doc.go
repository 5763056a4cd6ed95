// Package project reads and writes the age-encrypted files of one project: all below the folder with .ccm-secrets.yaml.
// It changes the readers of all files at once, or of none.
package project
