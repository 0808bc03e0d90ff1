<?php
/**
 * The two pages, and where they stand in the menus: Tools and Settings.
 *
 * @package Interlock_Bridge
 */

defined( 'ABSPATH' ) || exit;

const INTERLOCK_BRIDGE_PAGE          = 'interlock-bridge';
const INTERLOCK_BRIDGE_SETTINGS_PAGE = 'interlock-bridge-settings';

/**
 * Adds the pages.
 */
function interlock_bridge_add_menu(): void {
	add_management_page( __( 'Ask Interlock', 'interlock-bridge' ), __( 'Interlock Bridge', 'interlock-bridge' ), 'manage_options', INTERLOCK_BRIDGE_PAGE, 'interlock_bridge_show_ask_page' );
	add_options_page( __( 'Interlock Bridge', 'interlock-bridge' ), __( 'Interlock Bridge', 'interlock-bridge' ), 'manage_options', INTERLOCK_BRIDGE_SETTINGS_PAGE, 'interlock_bridge_show_settings_page' );
}

/**
 * Address of the page on which an administrator asks.
 */
function interlock_bridge_ask_url(): string {
	return admin_url( 'tools.php?page=' . INTERLOCK_BRIDGE_PAGE );
}

/**
 * Address of the settings.
 */
function interlock_bridge_settings_url(): string {
	return admin_url( 'options-general.php?page=' . INTERLOCK_BRIDGE_SETTINGS_PAGE );
}

/**
 * Adds a link to the settings in the list of plugins.
 *
 * @param string[] $links Links of this plugin.
 * @return string[]
 */
function interlock_bridge_add_settings_link( array $links ): array {
	array_unshift( $links, '<a href="' . esc_url( interlock_bridge_settings_url() ) . '">' . esc_html__( 'Settings', 'interlock-bridge' ) . '</a>' );
	return $links;
}

/**
 * Loads style and script on the plugin's own pages only.
 *
 * @param string $hook Of the page.
 */
function interlock_bridge_enqueue( string $hook ): void {
	if ( false === strpos( $hook, INTERLOCK_BRIDGE_PAGE ) ) {
		return;
	}
	wp_enqueue_style( 'interlock-bridge', plugins_url( 'assets/interlock-bridge.css', INTERLOCK_BRIDGE_FILE ), array(), INTERLOCK_BRIDGE_VERSION );
	wp_enqueue_script(
		'interlock-bridge',
		plugins_url( 'assets/interlock-bridge.js', INTERLOCK_BRIDGE_FILE ),
		array(),
		INTERLOCK_BRIDGE_VERSION,
		array(
			'in_footer' => true,
			'strategy'  => 'defer',
		)
	);
}
