// Package webpage reads what a URL leads to, and keeps its secrets: no text shows
// a password, no redirect takes one to another server.
//
// It knows pages and their bounds. What is in a page, and files, stay out.
package webpage
