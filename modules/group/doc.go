// Package group is the resource type "group": a group of users that is there or
// is not.
package group
