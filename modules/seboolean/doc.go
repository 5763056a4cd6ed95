// Package seboolean is the resource type "seboolean": a switch of the SELinux policy.
package seboolean
