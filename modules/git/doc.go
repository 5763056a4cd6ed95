// Package git is the resource type "git": a checkout of a repository at one commit, made by the git
// of the host.
package git
