// Package set is the resource type "set": a manifest changes values of its data in the middle of a play.
package set
