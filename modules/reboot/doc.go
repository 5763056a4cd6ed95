// Package reboot is the resource type "reboot": a restart of the host during a run.
package reboot
