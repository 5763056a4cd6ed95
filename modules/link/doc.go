// Package link is the resource type "link": a symbolic link and its target.
package link
