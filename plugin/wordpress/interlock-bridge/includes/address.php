<?php
/**
 * Which addresses a gateway may have.
 *
 * @package Interlock_Bridge
 */

defined( 'ABSPATH' ) || exit;

/**
 * Reports whether the host is this machine itself, written as a name or as an
 * address of the loopback range.
 *
 * @param string $host Host of a URL; IPv6 in brackets or bare.
 */
function interlock_bridge_is_loopback( string $host ): bool {
	$host = strtolower( trim( $host, '[]' ) );
	if ( 'localhost' === $host ) {
		return true;
	}
	if ( filter_var( $host, FILTER_VALIDATE_IP, FILTER_FLAG_IPV4 ) ) {
		return 127 === ( ip2long( $host ) >> 24 );
	}
	$packed = filter_var( $host, FILTER_VALIDATE_IP, FILTER_FLAG_IPV6 ) ? inet_pton( $host ) : false;
	return false !== $packed && inet_pton( '::1' ) === $packed;
}

/**
 * Reports whether the URL can be a gateway's: https, or http to this machine,
 * with a host, perhaps a port and a path, and nothing else.
 *
 * @param string $url URL without a slash at its end.
 */
function interlock_bridge_is_gateway_url( string $url ): bool {
	if ( strlen( $url ) > 2000 || preg_match( '/[\s\x00-\x1f\x7f\\\\]/', $url ) ) {
		return false;
	}
	$parts = parse_url( $url ); // phpcs:ignore WordPress.WP.AlternativeFunctions.parse_url_parse_url -- Also runs without WordPress.
	if ( ! is_array( $parts ) || empty( $parts['host'] ) || ! isset( $parts['scheme'] ) ) {
		return false;
	}
	if ( array_diff( array_keys( $parts ), array( 'scheme', 'host', 'port', 'path' ) ) ) {
		return false;
	}
	$scheme = strtolower( $parts['scheme'] );
	return 'https' === $scheme || ( 'http' === $scheme && interlock_bridge_is_loopback( $parts['host'] ) );
}
