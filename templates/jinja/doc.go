// Package jinja evaluates texts of an inventory as Ansible does, as far as they are references
// to variables and the commonest filters: `{{ base }}/x`, `{{ port | default(80) }}`. All else
// is not understood, which [Parse] says: nothing is guessed.
//
// Begin at text.go; a filter is a line in filters.go.
package jinja
