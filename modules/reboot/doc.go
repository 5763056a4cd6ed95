// Package reboot is the resource type "reboot": a host starts again, in the midst of a run.
package reboot
