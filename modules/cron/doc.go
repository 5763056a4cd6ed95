// Package cron is the resource type "cron": an entry of a user's crontab.
package cron
