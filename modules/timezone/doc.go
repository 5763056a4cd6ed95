// Package timezone is the resource type "timezone": the time zone of a host.
package timezone
