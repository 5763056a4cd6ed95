// Package link is the resource type "link": a symbolic link and where it leads.
package link
