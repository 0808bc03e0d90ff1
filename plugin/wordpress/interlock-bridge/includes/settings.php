<?php
/**
 * What an administrator sets. None of it is secret: the private key is a file,
 * named by a constant.
 *
 * @package Interlock_Bridge
 */

defined( 'ABSPATH' ) || exit;

const INTERLOCK_BRIDGE_OPTION = 'interlock_bridge_settings';

/**
 * Names of the settings with their labels, in the order of the page.
 *
 * @return array<string, string>
 */
function interlock_bridge_setting_labels(): array {
	return array(
		'gateway_url' => __( 'Gateway URL', 'interlock-bridge' ),
		'site_id'     => __( 'Site id', 'interlock-bridge' ),
		'tenant_id'   => __( 'Tenant id', 'interlock-bridge' ),
		'kid'         => __( 'Key id (kid)', 'interlock-bridge' ),
		'audience'    => __( 'Audience', 'interlock-bridge' ),
	);
}

/**
 * The stored settings; one that was never set is '', the audience "interlock".
 * Without a kid, the key's thumbprint is used.
 *
 * @return array<string, string>
 */
function interlock_bridge_settings(): array {
	$stored   = get_option( INTERLOCK_BRIDGE_OPTION, array() );
	$stored   = is_array( $stored ) ? $stored : array();
	$settings = array();
	foreach ( array_keys( interlock_bridge_setting_labels() ) as $name ) {
		$settings[ $name ] = isset( $stored[ $name ] ) && is_string( $stored[ $name ] ) ? $stored[ $name ] : '';
	}
	if ( '' === $settings['audience'] ) {
		$settings['audience'] = 'interlock';
	}
	return $settings;
}

/**
 * Labels of the settings without which nothing can be asked.
 *
 * @return string[]
 */
function interlock_bridge_missing_settings(): array {
	$settings = interlock_bridge_settings();
	$missing  = array();
	foreach ( interlock_bridge_setting_labels() as $name => $label ) {
		if ( '' === $settings[ $name ] && 'kid' !== $name ) {
			$missing[] = $label;
		}
	}
	return $missing;
}

/**
 * Registers the option.
 */
function interlock_bridge_register_settings(): void {
	register_setting(
		'interlock_bridge',
		INTERLOCK_BRIDGE_OPTION,
		array(
			'type'              => 'array',
			'sanitize_callback' => 'interlock_bridge_sanitize_settings',
			'default'           => array(),
			'show_in_rest'      => false,
		)
	);
}

/**
 * Checks what was sent. A value that is refused is reported, and the stored
 * one stays.
 *
 * @param mixed $sent As the form sent it.
 * @return array<string, string>
 */
function interlock_bridge_sanitize_settings( $sent ): array {
	$sent     = is_array( $sent ) ? $sent : array();
	$settings = interlock_bridge_settings();
	foreach ( array_keys( $settings ) as $name ) {
		if ( ! isset( $sent[ $name ] ) || ! is_string( $sent[ $name ] ) ) {
			continue;
		}
		$value   = sanitize_text_field( $sent[ $name ] );
		$value   = 'gateway_url' === $name ? untrailingslashit( $value ) : $value;
		$problem = '' === $value ? '' : interlock_bridge_setting_problem( $name, $value );
		if ( '' !== $problem ) {
			add_settings_error( INTERLOCK_BRIDGE_OPTION, 'interlock_bridge_' . $name, $problem );
			continue;
		}
		$settings[ $name ] = $value;
	}
	return $settings;
}

/**
 * Says what is wrong with a value, or '' where nothing is.
 *
 * @param string $name  Name of the setting.
 * @param string $value Value, not empty.
 */
function interlock_bridge_setting_problem( string $name, string $value ): string {
	switch ( $name ) {
		case 'gateway_url':
			return interlock_bridge_is_gateway_url( $value ) ? '' :
				__( 'The gateway URL was not saved: it must start with https:// and hold only a host, perhaps a port and a path. Plain http is allowed only for a gateway on this same machine.', 'interlock-bridge' );
		case 'site_id':
			return preg_match( '/\Asite_[0-9a-f]{16}\z/', $value ) ? '' :
				__( 'The site id was not saved: it is "site_" and 16 characters of 0-9 and a-f, as "interlock site create" printed it.', 'interlock-bridge' );
		case 'tenant_id':
			return preg_match( '/\A[a-z0-9][a-z0-9-]{0,63}\z/', $value ) ? '' :
				__( 'The tenant id was not saved: it has up to 64 of a-z, 0-9 and the hyphen.', 'interlock-bridge' );
		case 'kid':
			return preg_match( '/\A[\x21-\x7e]{1,128}\z/', $value ) ? '' :
				__( 'The key id was not saved: it has up to 128 printable characters and no space.', 'interlock-bridge' );
		default:
			return preg_match( '/\A[\x21-\x7e]{1,200}\z/', $value ) ? '' :
				__( 'The audience was not saved: it has up to 200 printable characters and no space.', 'interlock-bridge' );
	}
}
