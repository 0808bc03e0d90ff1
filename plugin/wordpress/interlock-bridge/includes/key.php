<?php
/**
 * The private key: a file that only the site's own system account can read,
 * outside everything that the web server hands out. The plugin reads it for
 * each signature and stores it nowhere.
 *
 * @package Interlock_Bridge
 */

defined( 'ABSPATH' ) || exit;

const INTERLOCK_BRIDGE_MIN_BITS = 2048;
const INTERLOCK_BRIDGE_MAX_BITS = 8192;

/**
 * Reads the key that INTERLOCK_KEY_FILE names.
 *
 * @return array{private: mixed, modulus: string, exponent: string, bits: int}|WP_Error The error says what to do.
 */
function interlock_bridge_load_key() {
	$path = defined( 'INTERLOCK_KEY_FILE' ) ? constant( 'INTERLOCK_KEY_FILE' ) : '';
	if ( ! is_string( $path ) || '' === $path ) {
		return new WP_Error( 'key_not_named', __( 'No key file is named. Add define( \'INTERLOCK_KEY_FILE\', \'/path/to/key.pem\' ); to wp-config.php.', 'interlock-bridge' ) );
	}
	$problem = interlock_bridge_key_file_problem( $path );
	if ( is_wp_error( $problem ) ) {
		return $problem;
	}
	$pem = file_get_contents( $path, false, null, 0, 32768 ); // phpcs:ignore WordPress.WP.AlternativeFunctions.file_get_contents_file_get_contents -- A local file.
	return interlock_bridge_read_key( (string) $pem );
}

/**
 * Checks where the file lies and who may read it.
 *
 * @param string $path Value of INTERLOCK_KEY_FILE.
 * @return WP_Error|null Null where all is well.
 */
function interlock_bridge_key_file_problem( string $path ) {
	$real = 0 === strpos( $path, '/' ) || preg_match( '/\A[A-Za-z]:[\\\\\/]/', $path ) ? realpath( $path ) : false;
	if ( false === $real || ! is_file( $real ) || ! is_readable( $real ) ) {
		return new WP_Error( 'key_not_readable', __( 'The file that INTERLOCK_KEY_FILE names cannot be read. Give its whole path, and let the account that runs PHP own it.', 'interlock-bridge' ) );
	}
	foreach ( interlock_bridge_served_folders() as $folder ) {
		if ( 0 === strpos( $real, $folder . DIRECTORY_SEPARATOR ) ) {
			return new WP_Error( 'key_in_web_root', __( 'The key file lies in a folder that the web server hands out. Move it elsewhere, change INTERLOCK_KEY_FILE, and make a new key, because somebody may have this one.', 'interlock-bridge' ) );
		}
	}
	// On Windows the permission bits say nothing about other accounts.
	if ( '\\' !== DIRECTORY_SEPARATOR && 0 !== ( fileperms( $real ) & 0077 ) ) {
		return new WP_Error( 'key_too_open', __( 'Other accounts of this machine may read or change the key file. Run: chmod 600 on it.', 'interlock-bridge' ) );
	}
	return null;
}

/**
 * Folders that the web server may hand out, without a slash at their end.
 *
 * @return string[]
 */
function interlock_bridge_served_folders(): array {
	// phpcs:ignore WordPress.Security.ValidatedSanitizedInput -- The server's own setting, only compared with.
	$root    = isset( $_SERVER['DOCUMENT_ROOT'] ) ? (string) $_SERVER['DOCUMENT_ROOT'] : '';
	$folders = array();
	foreach ( array( ABSPATH, WP_CONTENT_DIR, $root ) as $folder ) {
		$real = '' === $folder ? false : realpath( $folder );
		if ( false !== $real && dirname( $real ) !== $real ) {
			$folders[] = $real;
		}
	}
	return $folders;
}

/**
 * Reads a private key and checks that it can sign RS256.
 *
 * @param string $pem Text of the key file.
 * @return array{private: mixed, modulus: string, exponent: string, bits: int}|WP_Error
 */
function interlock_bridge_read_key( string $pem ) {
	$private = openssl_pkey_get_private( $pem );
	$details = $private ? openssl_pkey_get_details( $private ) : false;
	if ( ! $details || OPENSSL_KEYTYPE_RSA !== $details['type'] || ! isset( $details['rsa'] ) ) {
		return new WP_Error( 'key_not_rsa', __( 'The key file holds no RSA private key in PEM form without a passphrase. Make one with the line below.', 'interlock-bridge' ) );
	}
	if ( $details['bits'] < INTERLOCK_BRIDGE_MIN_BITS || $details['bits'] > INTERLOCK_BRIDGE_MAX_BITS ) {
		/* translators: 1: number of bits of the key, 2: smallest, 3: largest number allowed. */
		$text = __( 'The key has %1$d bits; it must have %2$d to %3$d. Make another with the line below.', 'interlock-bridge' );
		return new WP_Error( 'key_size', sprintf( $text, $details['bits'], INTERLOCK_BRIDGE_MIN_BITS, INTERLOCK_BRIDGE_MAX_BITS ) );
	}
	return array(
		'private'  => $private,
		'modulus'  => $details['rsa']['n'],
		'exponent' => $details['rsa']['e'],
		'bits'     => $details['bits'],
	);
}
