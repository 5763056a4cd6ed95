// Package group is the resource type "group": the existence of a group of users.
package group
