// Package locale is the resource type "locale": a locale of the host, and the default locale.
package locale
